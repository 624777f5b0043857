"""Documents other than HTML: JSON, XML, CSV, feeds, text, images and PDF."""
