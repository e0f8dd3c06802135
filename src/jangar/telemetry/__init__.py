"""What a process tells about itself: metrics. Imports nothing of jangar; processes wire it by callbacks."""
