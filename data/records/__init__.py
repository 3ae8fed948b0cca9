"""Game records: from the bytes of an SGF file to a game whose moves are legal."""
