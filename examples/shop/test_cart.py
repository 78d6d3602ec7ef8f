from cart import discounted


def test_a_quarter_off():
    assert discounted(10.00, 25) == 7.50


def test_half_a_cent_is_rounded_up():
    assert discounted(5.35, 50) == 2.68
