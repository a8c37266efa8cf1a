"""Ranktrail's command line. It talks to the services by their contracts and knows nothing else of them."""
