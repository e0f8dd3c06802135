"""Redacts Secret values from text, in the forms that programs write them in. Stands alone; imports nothing of ours."""
