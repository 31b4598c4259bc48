"""``aerolog explain``: what a file of the system is, and what stands where in it.

``identify`` tells the kind; one module each says what a kind holds, as sections of rows with
offsets (``model``); ``showing`` prints them; ``inspector`` prints a log as the reference's
LogInspector does.
"""
