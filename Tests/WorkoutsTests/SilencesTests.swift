import Foundation
import TestSupport
import Testing

@testable import Workouts

@Suite struct SilencesTests {
    private func times(_ seconds: [Double]) -> ItemTimes {
        var times = ItemTimes()
        for second in seconds { times.add(year2026 + second) }
        return times
    }

    /// The definition: each pair of neighbors in the order of time.
    private func defined(_ items: [Timestamp]) -> Silences {
        let sorted = items.sorted()
        guard let first = sorted.first, let last = sorted.last else { return Silences() }
        let inner = zip(sorted, sorted.dropFirst()).filter { $1.seconds(since: $0) > Silences.minimum }
            .filter { last.seconds(since: $1) <= Silences.span }.map { Silences.Gap(from: $0, to: $1) }
        return Silences([Silences.Gap(from: nil, to: first)] + inner + [Silences.Gap(from: last, to: nil)])
    }

    @Test func `the silences enclose the items and separate those more than six hours apart`() throws {
        let silences = times([0, 21_600, 43_200.5, 43_201]).silences
        #expect(
            try json(silences)
                == "[[null,1767225600],[1767247200,1767268800.5],[1767268801,null]]")
        #expect(try JSONDecoder().decode(Silences.self, from: Data(json(silences).utf8)) == silences)
        #expect(try json(ItemTimes().silences) == "[]")
    }

    @Test func `any order of the items gives the silences of the sorted items`() {
        var random = SeededRandom()
        for _ in 0..<200 {
            let days = Double.random(in: 0.1...10, using: &random)
            let items = (0..<Int.random(in: 0...200, using: &random)).map { _ in
                year2026 + (Double.random(in: 0...days, using: &random) * 24).rounded() * 3_600
                    + Double(Int.random(in: -1...1, using: &random)) / 1e6
            }
            let expected = defined(items)
            var added = ItemTimes()
            for item in items.shuffled(using: &random) { added.add(item) }
            #expect(added.silences == expected)
            let parts = Dictionary(grouping: items.map { Sample(time: $0) } + [Sample()]) { _ in
                Int.random(in: 0..<3, using: &random)
            }
            #expect(ItemTimes(parts.values.map { ItemSource($0) }).silences == expected)
        }
    }

    @Test func `of more than 1,000 stretches any order of items and reports gives the same silences`() {
        var random = SeededRandom()
        for _ in 0..<20 {
            // Some stretches of more than 6 hours, and items that end others.
            var items = (0..<1_300).map { year2026 + Double($0) * 7 * 3_600 }
            items += (0..<200).map { _ in year2026 + Double.random(in: 0...1_300 * 7 * 3_600, using: &random) }
            items.shuffle(using: &random)
            let expected = defined(items)
            #expect(expected.gaps.count > 700 && expected.gaps.count <= 1_002)
            var times = ItemTimes()
            var presence = SessionUse()
            for item in items {
                times.add(item)
                if Int.random(in: 0..<100, using: &random) == 0 { presence.note(times.silences) }
            }
            #expect(times.silences == expected, "seed \(random.seed)")
            // Two services report parts of the items, an older report after a newer one too.
            let parts = [items[..<600], items[600...]].map { part in
                var times = ItemTimes()
                return part.map { item in
                    times.add(item)
                    return times.silences
                }
            }
            let reports = parts.flatMap { part in [part.last!] + part.shuffled(using: &random).prefix(10) }
            for report in reports.shuffled(using: &random) { presence.note(report) }
            #expect(presence.items == expected, "seed \(random.seed)")
        }
    }

    @Test func `two services share the silences of all their items`() {
        var random = SeededRandom()
        for _ in 0..<300 {
            let parts = (0..<2).map { _ in
                (0..<Int.random(in: 0...8, using: &random)).map { _ in
                    year2026 + Double(Int.random(in: 0...72, using: &random)) * 3_600
                }
            }
            let lists = parts.map { part in
                var times = ItemTimes()
                for time in part { times.add(time) }
                return times.silences
            }
            #expect(lists[0].intersection(lists[1]) == defined(parts[0] + parts[1]))
            #expect(lists[1].intersection(lists[0]) == defined(parts[0] + parts[1]))
        }
    }
}
