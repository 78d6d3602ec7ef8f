"""What an agent tool imports to report failures and recall lessons."""
