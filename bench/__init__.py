"""Programs that measure. `make bench` runs them all; each prints ratio rows."""
