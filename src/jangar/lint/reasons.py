"""Reasons for problems of files. Reasons for problems of objects are in jangar.api.reasons."""

from enum import StrEnum


class FileReason(StrEnum):
    """Why a file or an object in it is rejected before its spec is checked."""

    INVALID_SYNTAX = "InvalidSyntax"
    INVALID_ENCODING = "InvalidEncoding"
    DUPLICATE_KEY = "DuplicateKey"
    INVALID_KEY = "InvalidKey"
    UNSUPPORTED_TAG = "UnsupportedTag"
    TOO_LARGE = "TooLarge"
    TOO_DEEP = "TooDeep"
    TOO_MANY_ALIASES = "TooManyAliases"
    INVALID_NUMBER = "InvalidNumber"
    NOT_AN_OBJECT = "NotAnObject"
    NO_OBJECTS = "NoObjects"
    UNKNOWN_KIND = "UnknownKind"
    UNKNOWN_FIELD = "UnknownField"
    INVALID_METADATA = "InvalidMetadata"
    DUPLICATE_OBJECT = "DuplicateObject"
