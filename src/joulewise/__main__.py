"""`python -m joulewise` is the command `joulewise`."""

from joulewise.cli import main

if __name__ == "__main__":
    main()
