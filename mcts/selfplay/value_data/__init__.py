"""Value data by self-play, the recipe of AlphaGo: begin with `recipe.py`."""
