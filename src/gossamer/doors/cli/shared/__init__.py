"""Parts that several commands share: options, output, progress."""
