"""The stud command."""
