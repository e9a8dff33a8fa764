// A shared library with nothing in it.
