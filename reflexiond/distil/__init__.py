"""From a report to a lesson."""
