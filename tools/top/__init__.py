"""The dashboard: a model of what was seen, pages of lines made from it, and a terminal around them.

``reading`` says what one look gives, ``source`` looks at a live driver, ``model`` keeps history,
``pages`` turn it into lines, ``app`` shows them. Only ``app`` and ``widgets`` know Textual.
"""
