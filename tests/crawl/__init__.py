"""The crawler as a whole: real worker processes on a synthetic web, judged by what its servers saw."""
