"""Networks: what they are, how they learn, how they answer."""
