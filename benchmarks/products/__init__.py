"""The products in apps/, as their customers feel them."""
