"""The command line of reflexiond."""
