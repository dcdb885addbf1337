"""What a person looks at: the command line and its demo."""
