from gossamer.app import main

main()
