"""The chart of latency by version of TensorFlow, as a Vega-Lite spec."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt

from pyopbench.charts import DATA, PANELS_PER_ROW, Panels, Spec, as_spec
from pyopbench.looks import Look
from pyopbench.scales import Row, drawable, limits, ticks

HEIGHT = 200
FRAME = {"axis": 70, "narrowest": 200}
WIDEST_LABEL = 75
HAS_INTERVAL = "isValid(datum.low) && isValid(datum.high)"
SECONDS = "format(datum.{field}, '.4s') + 's'"


def version_chart(
    rows: Sequence[Row], versions: Sequence[str], pinned: Mapping[str, Look], baseline: str, panels: Panels
) -> Spec:
    """Return a line for each variant over versions of TensorFlow, with the interval of every point.

    Args:
        rows: `panel`, `label`, `version`, and `seconds`, `low`, `high` per call in seconds (NaN where there is none).
        versions: in the order of the axis.
        pinned: the look of every label.
        baseline: the label whose line is thick.
        panels: where each panel holds.
    """
    data = drawable(rows, "seconds")
    labels = sorted({row["label"] for row in data})
    ends = limits(data, "seconds")
    order = [version for version in versions if any(row["version"] == version for row in data)]
    version = alt.X("version:N", title="TensorFlow", sort=order).scale(domain=order)
    seconds = alt.Y("seconds:Q", title="time per call").scale(type="log", domain=ends, nice=False)
    looks = {part: [getattr(pinned[label], part) for label in labels] for part in ("colour", "dash", "shape")}
    base = alt.Chart(alt.Undefined).encode(
        x=version.axis(labelAngle=-35 if len(order) > 2 else 0, labelLimit=WIDEST_LABEL),
        color=alt.Color("label:N", title=None).scale(domain=labels, range=looks["colour"]),
    )
    y = seconds.axis(labelExpr="format(datum.value, '~s') + 's'", values=ticks(ends))
    is_baseline = alt.FieldEqualPredicate(field="label", equal=baseline)
    line = base.mark_line(clip=True).encode(
        y=y,
        strokeDash=alt.StrokeDash("label:N", title=None).scale(domain=labels, range=looks["dash"]),
        strokeWidth=alt.when(is_baseline).then(alt.value(3.5)).otherwise(alt.value(1.5)),
    )
    rule = base.mark_rule(clip=True, strokeWidth=1.5, opacity=0.5).encode(y="from:Q", y2="to:Q")
    told = [
        alt.Tooltip("label:N", title="variant"),
        alt.Tooltip("version:N", title="TensorFlow"),
        alt.Tooltip("panel:N", title="measured"),
        alt.Tooltip("value_text:N", title="time per call"),
        alt.Tooltip("interval_text:N", title="95% interval"),
    ]
    point = base.mark_point(filled=True, size=40, opacity=1, clip=True).encode(
        y=y, shape=alt.Shape("label:N", title=None).scale(domain=labels, range=looks["shape"]), tooltip=told
    )
    layers = alt.LayerChart(layer=[rule, line, point], height=HEIGHT)
    layers.data = alt.NamedData(DATA)
    names = list(dict.fromkeys(row["panel"] for row in data))
    chart = layers.facet(facet=alt.Facet("panel:N", title=None, sort=names), columns=PANELS_PER_ROW)
    return as_spec(chart.transform_calculate(**_computed()), data, panels, FRAME)


def _computed() -> dict[str, str]:
    low, high, middle = (SECONDS.format(field=field) for field in ("low", "high", "seconds"))
    return {
        "value_text": middle,
        "interval_text": f"{HAS_INTERVAL} ? {low} + ' to ' + {high} : 'none'",
        "from": f"{HAS_INTERVAL} ? datum.low : datum.seconds",
        "to": f"{HAS_INTERVAL} ? datum.high : datum.seconds",
    }
