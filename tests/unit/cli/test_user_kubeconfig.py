"""Our context in the user's kubeconfig."""

import pytest
import yaml

from jangar.cli.laptop.user_kubeconfig import CannotMerge, merge, merged_config, own_kubeconfig

OURS = {
    "clusters": [{"name": "jangar", "cluster": {"server": "https://127.0.0.1:7443"}}],
    "users": [{"name": "jangar-admin", "user": {"token": "t"}}],
    "contexts": [{"name": "jangar", "context": {"cluster": "jangar", "user": "jangar-admin"}}],
    "current-context": "jangar",
}


def test_an_empty_file_gets_our_context_as_the_current_one():
    """There is no other to keep."""
    merged = merged_config({}, OURS)
    assert merged["current-context"] == "jangar"
    assert merged["contexts"] == [{"name": "jangar", "context": {"cluster": "jangar", "user": "jangar"}}]
    assert [user["name"] for user in merged["users"]] == ["jangar"]


def test_an_older_context_of_ours_is_replaced_in_its_place():
    """The port may have changed."""
    theirs = {"clusters": [{"name": "jangar", "cluster": {"server": "old"}}, {"name": "z", "cluster": {}}]}
    assert merged_config(theirs, OURS)["clusters"] == [OURS["clusters"][0], {"name": "z", "cluster": {}}]


def test_a_file_that_is_no_kubeconfig_is_left_alone(tmp_path):
    """Rather than losing what is in it."""
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    ours.write_text(yaml.safe_dump(OURS))
    theirs.write_text("- a\n- b\n")
    with pytest.raises(CannotMerge):
        merge(ours, theirs)
    assert theirs.read_text() == "- a\n- b\n"


def test_a_linked_file_stays_a_link(tmp_path):
    """People keep their files elsewhere."""
    ours, real, link = tmp_path / "ours", tmp_path / "real", tmp_path / "link"
    ours.write_text(yaml.safe_dump(OURS))
    real.write_text("")
    link.symlink_to(real)
    assert merge(ours, link)
    assert link.is_symlink()
    assert yaml.safe_load(real.read_text())["current-context"] == "jangar"


def test_the_first_file_of_kubeconfig_is_the_users_own(tmp_path):
    """As kubectl writes to it."""
    assert str(own_kubeconfig({"KUBECONFIG": "/a:/b", "HOME": "/h"})) == "/a"
    assert str(own_kubeconfig({"HOME": "/h"})) == "/h/.kube/config"
