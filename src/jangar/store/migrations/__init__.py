"""How the tables came to be, a step a file; run in the program, forward by it and back by hand."""
