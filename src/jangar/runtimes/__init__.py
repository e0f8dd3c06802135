"""Where work runs. Each runtime turns a command into objects of its own and says how to read them."""
