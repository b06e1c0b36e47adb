"""What a recorded program finds on its path: `sitecustomize`, which Python imports when it starts."""
