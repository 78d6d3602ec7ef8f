"""MessagePack-RPC: the server and its methods."""
