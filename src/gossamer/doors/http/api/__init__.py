"""The endpoints, one package for each subject. A module declares routes and the shapes only HTTP knows."""
