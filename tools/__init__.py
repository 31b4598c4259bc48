"""The command line. Needs the packages of ``aerolog[cli]``; `main.main` says so without them."""
