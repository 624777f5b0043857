"""What people do with crawls: preview, pause, resume, stop, follow and delete them."""
