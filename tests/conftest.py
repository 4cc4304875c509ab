"""Settings for every kind of test. Fixtures live in the folder that needs them."""

import os

from hypothesis import HealthCheck, settings

# In CI the examples are the same in every run: a red build must be reproducible.
# Deadlines are off everywhere, since two workers share two cores.
_SLOW_IS_FINE = [HealthCheck.too_slow]
settings.register_profile("dev", deadline=None, suppress_health_check=_SLOW_IS_FINE)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True, suppress_health_check=_SLOW_IS_FINE)
settings.load_profile("ci" if os.environ.get("CI") else "dev")
