"""Both ends of a conversation with a real mlserve: server process, raw client, scripted upstream."""
