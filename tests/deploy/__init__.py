"""What `deploy/` holds, and the commands for operators, on the programs that it is made for."""
