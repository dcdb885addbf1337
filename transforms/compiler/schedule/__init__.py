"""Graph to statements: what runs tile by tile, writes over what, and is computed again."""
