"""The full-screen time machine of ``stud replay``."""
