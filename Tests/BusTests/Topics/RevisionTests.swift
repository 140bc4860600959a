import Bus
import Testing

@Suite struct RevisionTests {
    @Test(arguments: [0, 1, 1_767_225_600_000, 1 << 53] as [Int64])
    func `a revision that an owner can go on above is read`(revision: Int64) throws {
        let text = "{\"revision\":\(revision),\"status\":{\"more\":[]}}"
        #expect(try JSONCoding.decode(SeenRevision.self, from: text.utf8).revision == revision)
    }

    @Test(arguments: [
        "-1", "\(Int64(1) << 53 + 1)", "\(Int64.max)", "\(Int64.min)", "null", "\"7\"", "true", "[7]",
    ])
    func `any other revision is refused, and named`(revision: String) {
        let error = #expect(throws: PayloadError.self) {
            try JSONCoding.decode(SeenRevision.self, from: "{\"revision\":\(revision)}".utf8)
        }
        guard case .malformed(let told) = error else { return }
        #expect(told.hasPrefix("revision: "), "\(told)")
    }

    @Test(arguments: ["9223372036854775808", "1e300", "1e999", "1.5"])
    func `a number that is no integer of 64 bits is refused`(revision: String) {
        #expect(throws: PayloadError.self) {
            try JSONCoding.decode(SeenRevision.self, from: "{\"revision\":\(revision)}".utf8)
        }
    }

    @Test func `without a revision it is refused`() {
        #expect(throws: PayloadError.malformed("revision: missing")) {
            try JSONCoding.decode(SeenRevision.self, from: "{}".utf8)
        }
    }

    @Test(
        arguments: [
            (9, [], .outdated), (10, [], .known), (11, [], .ahead), (5, [5, 8, 10], .known), (8, [5, 8, 10], .known),
            (7, [5, 8, 10], .outdated), (4, [5, 8, 10], .outdated), (11, [5, 8, 10], .ahead),
        ] as [(Int64, [Int64], RetainedRevision)])
    func `of an own topic a newer revision is ahead, what was published since connecting known, the rest outdated`(
        seen: Int64, published: [Int64], expected: RetainedRevision
    ) {
        var revisions = PublishedRevisions()
        for revision in published { revisions.insert(revision) }
        #expect(RetainedRevision(seen, newest: 10, published: revisions) == expected)
    }

    @Test func `so many published revisions are remembered, the latest ones, each once`() {
        var revisions = PublishedRevisions()
        let limit = Int64(PublishedRevisions.limit)
        for revision in 1...limit + 3 {
            revisions.insert(revision)
            revisions.insert(revision)
        }
        #expect((1...limit + 3).filter(revisions.contains) == Array(4...limit + 3))
    }
}
