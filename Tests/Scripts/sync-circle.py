#!/usr/bin/env python3
"""Devices of one owner that synchronize, and a store between them that this program is: io.touchstone.Sync from outside."""

from circle import (
    PASSCODE, Store, agreed, app_add, app_read, found, join, members, status, sync, with_passcode,
)
from device import Device, check, equal, main


def devices(*names):
    """Runs a test with devices that have a passcode."""

    def decorate(test):
        def run(left=names, made=()):
            if not left:
                return test(*made)
            with Device(left[0]) as device:
                device.set_up(PASSCODE)
                run(left[1:], (*made, device))

        run.__name__ = test.__name__
        return run

    return decorate


@devices("one", "two")
def an_item_goes_to_the_other_device(one, two):
    """SY-10, SY-11, SY-13: two devices meet by digits, and an app finds what another device's app added."""
    store = Store()
    equal(sync(one, "ListObjects")[0], "NoCircle", "before there is one")
    found(one, "desk")
    app_add(one, "before", "was there")
    join(one, two, "lap", store)
    equal(sorted(members(two)), ["desk", "lap"], "who is in it")
    store.carry_until(lambda: app_read(two, "before"), "the item of before", one, two)
    app_add(one, "now", "secret")
    store.carry_until(lambda: app_read(two, "now"), "the new item", one, two)
    equal(app_read(two, "now"), "secret", "the other device's secret")
    app_add(two, "back", "other way")
    store.carry_until(lambda: app_read(one, "back") == "other way", "the way back", one, two)
    check(all(member["isComplete"] for member in members(one).values()), f"{members(one)}")


main(an_item_goes_to_the_other_device)
