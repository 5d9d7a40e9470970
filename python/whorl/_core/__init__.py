"""What all schemes share: arrays, files, sessions and servers, checks of arguments, text."""
