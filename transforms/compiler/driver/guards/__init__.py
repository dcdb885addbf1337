"""Guards: what a specialisation assumes, checked at each call, and said in words."""
