"""``stud bench``: what the system reaches beside what it could reach, as ratios taken in one run."""
