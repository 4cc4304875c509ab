"""A table as it was: from its stored commits to frames, to their words, to steps between them.

    commits ──▶ Timeline.add     folded once: what finding needs, and a state every so often
                    │ nearest
                    ▼
    commits ──▶ Projector.show   a frame per version, made when somebody looks
                    │
                    ▼
                as_dict, difference, words

Pure: no log is read here, no clock, no key, no terminal. Down cards are sealed boxes to all of it; a viewer's own come
in clear as an argument, from whoever was allowed to open them.
"""
