"""What differs between systems: paths, locks, sockets, peers."""
