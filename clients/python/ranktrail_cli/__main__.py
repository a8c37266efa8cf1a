"""Runs the command line: `python -m ranktrail_cli`."""

from ranktrail_cli.main import main

if __name__ == "__main__":
    main()
