"""What is to be measured: plan files, and the runs that follow from them."""
