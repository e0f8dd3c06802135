"""What a child knows about the Job it started: is it there, how did it end, how is it stopped and let go.

Pure; imports: jangar.api, jangar.domain.
"""
