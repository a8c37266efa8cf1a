"""A dataset as its file holds it. Unknown fields are refused; a field that is absent has the default given here."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

HIGHEST_GRADE = 3

DatasetId = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,99}$")]
Id = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^\S(.*\S)?$")]


class Part(BaseModel):
    """Any part of a dataset: immutable, no field unknown, no value converted."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Citation(Part):
    """A passage that can answer the question."""

    citation_id: Id = Field(description="Unique in its record. The same id in another record is the same passage.")
    source: str = Field("", description="Where the passage stands, for people.")
    text: str | None = Field(None, description="The passage. Without it a retrieval is joined by id alone.")


class Judgment(Part):
    """What somebody says of a citation."""

    citation_id: Id
    relevant: bool
    grade: int | None = Field(
        None, ge=0, le=HIGHEST_GRADE, description="0 to 3, above 0 exactly when relevant; all or none have one."
    )


class Record(Part):
    """One question with what is known of its answer."""

    record_id: Id = Field(description="Unique in the dataset.")
    question: str
    reference_answer: str
    reference_answers: tuple[str, ...] = Field((), description="Other answers that are as right.")
    citations: tuple[Citation, ...] = ()
    judgments: tuple[Judgment, ...] = ()
    answer_citation_ids: tuple[Id, ...] | None = Field(None, description="What the offline answer cites.")
    offline_answer: str | None = Field(None, description="The answer that an offline run measures.")
    offline_contexts: tuple[str, ...] | None = Field(
        None, description="What was retrieved, as text. Absent: the texts of the retrieved citations."
    )
    offline_retrieved_citation_ids: tuple[Id, ...] | None = Field(
        None, description="What was retrieved, best first; empty: nothing was. Absent: every citation."
    )

    @property
    def relevant_ids(self) -> tuple[str, ...]:
        """The citations that a retrieval has to bring."""
        return tuple(judgment.citation_id for judgment in self.judgments if judgment.relevant)

    @property
    def citation_ids(self) -> frozenset[str]:
        """The declared citations."""
        return frozenset(citation.citation_id for citation in self.citations)

    @property
    def answers(self) -> tuple[str, ...]:
        """Every right answer."""
        return (self.reference_answer, *self.reference_answers)


class Dataset(Part):
    """A version of a dataset."""

    format_version: Literal[1]
    dataset_id: DatasetId
    version: str = Field(description="As in PEP 440: 1.10.0 is newer than 1.9.0.")
    title: str = ""
    description: str = ""
    license: str = ""
    splits: dict[str, tuple[Id, ...]] = Field(
        default_factory=dict, description="Record ids by split. With splits, each record is in exactly one."
    )
    records: tuple[Record, ...] = Field(min_length=1)

    @property
    def is_graded(self) -> bool:
        """Whether its judgments have grades."""
        return any(judgment.grade is not None for record in self.records for judgment in record.judgments)
