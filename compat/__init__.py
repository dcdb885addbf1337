"""Other libraries' names, thin over gradscribe's own."""
