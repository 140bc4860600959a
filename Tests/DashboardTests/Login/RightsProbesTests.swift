import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Dashboard

struct RightsProbesTests {
    private let start = Moment(Timestamp(seconds: 1_700_000_000))
    private let coach = RightsProbes.Credential(account: AccountName("coach")!, password: Secret("x"))
    private let me = User("coach")!
    private let anna = User("anna")!
    private let ben = User("ben")!

    @Test func `an account in use is probed every five minutes, an unused one no more`() {
        var probes = RightsProbes()
        probes.begin(coach, seen: [me], start)
        #expect(probes.take(start + 299) == [])
        probes.use(coach, seen: [me], start + 299)
        #expect(probes.take(start + 300) == [coach])
        #expect(probes.take(start + 300) == [])
        #expect(probes.answered(coach, [me], isEngineOnline: true, start + 301) == nil)
        #expect(probes.take(start + 600) == [])
        #expect(probes.take(start + 700) == [])
        probes.use(coach, seen: [me], start + 800)
        #expect(probes.take(start + 800) == [coach])
    }

    @Test func `a new user is seen at once, a missing one goes after a second answer a minute later`() {
        var probes = RightsProbes()
        probes.use(coach, seen: [me, anna], start)
        #expect(probes.take(start) == [coach])
        #expect(probes.answered(coach, [ben], isEngineOnline: true, start) == [me, anna, ben])
        #expect(probes.take(start + 59) == [])
        #expect(probes.take(start + 60) == [coach])
        #expect(probes.answered(coach, [ben], isEngineOnline: true, start + 60) == [me, ben])
    }

    @Test func `a broker without retained messages takes nobody away while session-engine is offline`() {
        var probes = RightsProbes()
        probes.use(coach, seen: [me, anna], start)
        var now = start
        for _ in 0..<5 {
            probes.use(coach, seen: [me, anna], now)
            #expect(probes.take(now) == [coach])
            #expect(probes.answered(coach, [], isEngineOnline: false, now) == nil)
            now = now + 300
        }
    }

    @Test func `a user who appears again starts the minute again`() {
        var probes = RightsProbes()
        probes.use(coach, seen: [me, anna], start)
        let answers: [Set<User>] = [[], [anna], [], []]
        var changes: [Set<User>?] = []
        var now = start
        for answer in answers {
            probes.use(coach, seen: [me, anna], now)
            while probes.take(now).isEmpty { now = now + 1 }
            changes.append(probes.answered(coach, answer, isEngineOnline: true, now))
        }
        #expect(changes == [nil, nil, nil, [me]])
    }

    @Test func `logins stay valid for an hour without the broker`() {
        var probes = RightsProbes()
        probes.begin(coach, seen: [me], start)
        for second in stride(from: 0.0, to: 3_600, by: 30) {
            let now = start + second
            probes.use(coach, seen: [me], now)
            #expect(probes.isTrusted(coach, now))
            for credential in probes.take(now) { probes.unanswered(credential, now) }
        }
        probes.use(coach, seen: [me], start + 3_601)
        #expect(!probes.isTrusted(coach, start + 3_601))
    }

    @Test func `at most four probes run, and an answer after the account's removal is ignored`() {
        var probes = RightsProbes()
        let many = (0..<10).map { RightsProbes.Credential(account: AccountName("user\($0)")!, password: Secret("")) }
        for credential in many { probes.use(credential, seen: [], start) }
        let first = probes.take(start)
        #expect(first.count == 4)
        probes.remove(first[0].account)
        #expect(probes.answered(first[0], [anna], isEngineOnline: true, start) == nil)
        #expect(probes.take(start).count == 1)
    }
}
