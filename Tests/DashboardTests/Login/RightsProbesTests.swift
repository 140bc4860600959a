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
    private let login = LoginToken().id

    @Test func `an account in use is probed every five minutes, an unused one no more`() {
        var probes = RightsProbes(start)
        probes.begin(coach, of: login, .init(seen: [me]), start)
        #expect(probes.take(start + 299) == [])
        probes.use(coach, of: login, .init(seen: [me]), start + 299)
        #expect(probes.take(start + 300) == [coach])
        #expect(probes.take(start + 300) == [])
        #expect(probes.answered(coach, .init(seen: [me]), isEngineOnline: true, start + 301)?.seen == [me])
        #expect(probes.take(start + 600) == [])
        #expect(probes.take(start + 700) == [])
        probes.use(coach, of: login, .init(seen: [me]), start + 800)
        #expect(probes.take(start + 800) == [coach])
    }

    @Test func `a new user is seen at once, a missing one goes after a second answer a minute later`() {
        var probes = RightsProbes(start)
        probes.use(coach, of: login, .init(seen: [me, anna]), start)
        #expect(probes.take(start) == [coach])
        #expect(probes.answered(coach, .init(seen: [ben]), isEngineOnline: true, start)?.seen == [me, anna, ben])
        #expect(probes.take(start + 59) == [])
        #expect(probes.take(start + 60) == [coach])
        #expect(probes.answered(coach, .init(seen: [ben]), isEngineOnline: true, start + 60)?.seen == [me, ben])
    }

    @Test func `a broker without retained messages keeps all rights while session-engine is offline`() {
        var probes = RightsProbes(start)
        probes.use(coach, of: login, .init(seen: [me, anna]), start)
        var now = start
        for _ in 0..<5 {
            probes.use(coach, of: login, .init(seen: [me, anna]), now)
            #expect(probes.take(now) == [coach])
            #expect(probes.answered(coach, .init(seen: []), isEngineOnline: false, now)?.seen == [me, anna])
            now = now + 300
        }
    }

    @Test func `a user who appears again starts the minute again`() {
        var probes = RightsProbes(start)
        probes.use(coach, of: login, .init(seen: [me, anna]), start)
        let answers: [Set<User>] = [[], [anna], [], []]
        var changes: [Set<User>?] = []
        var now = start
        for answer in answers {
            probes.use(coach, of: login, .init(seen: [me, anna]), now)
            while probes.take(now).isEmpty { now = now + 1 }
            changes.append(probes.answered(coach, .init(seen: answer), isEngineOnline: true, now)?.seen)
        }
        #expect(changes == [[me, anna], [me, anna], [me, anna], [me]])
    }

    @Test func `logins stay valid for an hour without the broker`() {
        var probes = RightsProbes(start)
        probes.begin(coach, of: login, .init(seen: [me]), start)
        for second in stride(from: 0.0, to: 3_600, by: 30) {
            let now = start + second
            probes.use(coach, of: login, .init(seen: [me]), now)
            #expect(probes.isTrusted(coach, now))
            for credential in probes.take(now) { probes.unanswered(credential, now) }
        }
        probes.use(coach, of: login, .init(seen: [me]), start + 3_601)
        #expect(!probes.isTrusted(coach, start + 3_601))
    }

    @Test func `at most four probes run, and an answer after the account's removal is ignored`() {
        var probes = RightsProbes(start)
        let many = (0..<10).map { RightsProbes.Credential(account: AccountName("user\($0)")!, password: Secret("")) }
        for credential in many { probes.use(credential, of: LoginToken().id, .init(seen: []), start) }
        let first = probes.take(start)
        #expect(first.count == 4)
        _ = probes.refused(first[0])
        #expect(probes.answered(first[0], .init(seen: [anna]), isEngineOnline: true, start) == nil)
        #expect(probes.take(start).count == 1)
    }

    @Test func `logins during probes leave all four slots free`() {
        var probes = RightsProbes(start)
        var now = start
        for _ in 0..<8 {
            probes.use(coach, of: login, .init(seen: [me]), now)
            now = now + RightsProbes.interval
            probes.use(coach, of: login, .init(seen: [me]), now)
            #expect(probes.take(now) == [coach])
            probes.begin(coach, of: LoginToken().id, .init(seen: [me]), now)
            _ = probes.answered(coach, .init(seen: [me]), isEngineOnline: true, now)
        }
        for number in 0..<4 {
            let other = RightsProbes.Credential(account: AccountName("user\(number)")!, password: Secret(""))
            probes.use(other, of: LoginToken().id, .init(seen: []), now)
        }
        #expect(probes.take(now).count == 4)
    }

    @Test func `a new login keeps users that an older one sees, until two answers lack them`() {
        var probes = RightsProbes(start)
        probes.begin(coach, of: login, .init(seen: [me, anna]), start)
        probes.begin(coach, of: LoginToken().id, .init(seen: [me]), start + 10)
        probes.use(coach, of: login, .init(seen: [me, anna]), start + 310)
        #expect(probes.take(start + 310) == [coach])
        #expect(probes.answered(coach, .init(seen: []), isEngineOnline: true, start + 310)?.seen == [me, anna])
        #expect(probes.take(start + 370) == [coach])
        #expect(probes.answered(coach, .init(seen: []), isEngineOnline: true, start + 370)?.seen == [me])
    }

    @Test func `pauses do not prolong the hour without the broker, and the use after one waits for a probe`() {
        var probes = RightsProbes(start)
        probes.begin(coach, of: login, .init(seen: [me]), start)
        for minutes in stride(from: 10.0, to: 60, by: 10) {
            let now = start + minutes * 60
            probes.use(coach, of: login, .init(seen: [me]), now)
            #expect(probes.takeStale(coach, now) == true)
            #expect(probes.isTrusted(coach, now))
            probes.unanswered(coach, now)
            // The next request does not wait again.
            #expect(probes.takeStale(coach, now + 1) == false)
            _ = probes.take(now + 1)
        }
        probes.use(coach, of: login, .init(seen: [me]), start + 3_600)
        #expect(!probes.isTrusted(coach, start + 3_600))
        #expect(probes.takeStale(coach, start + 3_600) == true)
        _ = probes.answered(coach, .init(seen: [me]), isEngineOnline: true, start + 3_600)
        #expect(probes.isTrusted(coach, start + 3_600))
    }

    @Test func `a login that is used hours after the start is not trusted before a probe`() {
        var probes = RightsProbes(start)
        probes.use(coach, of: login, .init(seen: [me]), start + 10)
        #expect(probes.takeStale(coach, start + 10) == false)
        #expect(probes.isTrusted(coach, start + 10))
        _ = probes.take(start + 7_200)
        probes.use(coach, of: login, .init(seen: [me]), start + 7_200)
        #expect(probes.takeStale(coach, start + 7_200) == true)
        #expect(!probes.isTrusted(coach, start + 7_200))
    }

    @Test func `a refused password ends the logins that used it, and no others of the account`() {
        var probes = RightsProbes(start)
        let changed = RightsProbes.Credential(account: coach.account, password: Secret("y"))
        let other = LoginToken().id
        probes.begin(coach, of: login, .init(seen: [me]), start)
        probes.begin(changed, of: other, .init(seen: [me]), start)
        #expect(probes.refused(coach) == [login])
        #expect(probes.isTrusted(changed, start))
        probes.end(other)
        #expect(!probes.isTrusted(changed, start))
    }

    @Test func `what the broker publishes about an account counts at once`() {
        var probes = RightsProbes(start)
        probes.begin(coach, of: login, .init(seen: [me, anna, ben], isViewer: true), start)
        #expect(probes.take(start) == [])
        probes.changed([coach.account], start + 1)
        #expect(probes.take(start + 1) == [coach])
        let answer = AccountRights(seen: [me, ben], isViewer: true)
        #expect(probes.answered(coach, answer, isEngineOnline: false, start + 1) == answer)
        #expect(probes.take(start + 2) == [])
        // An answer without the topic takes no right away.
        probes.use(coach, of: login, answer, start + 301)
        #expect(probes.take(start + 301) == [coach])
        #expect(probes.answered(coach, .init(seen: [me]), isEngineOnline: true, start + 301) == answer)
    }

    @Test func `a change during a probe leads to another probe`() {
        var probes = RightsProbes(start)
        let answer = AccountRights(seen: [me, anna], isViewer: true)
        probes.use(coach, of: login, answer, start)
        #expect(probes.take(start) == [coach])
        probes.changed([coach.account], start)
        #expect(probes.take(start) == [])
        _ = probes.answered(coach, answer, isEngineOnline: true, start)
        #expect(probes.take(start) == [coach])
        _ = probes.answered(coach, answer, isEngineOnline: true, start)
        #expect(probes.take(start) == [])
    }

    @Test func `the first request after a change waits for a probe, and changes of other accounts count for nothing`() {
        var probes = RightsProbes(start)
        probes.begin(coach, of: login, .init(seen: [me], isViewer: true), start)
        probes.changed([AccountName("anna")!], start + 1)
        #expect(probes.takeStale(coach, start + 1) == false)
        probes.changed([coach.account], start + 1)
        #expect(probes.takeStale(coach, start + 1) == true)
        #expect(probes.takeStale(coach, start + 1) == false)
    }

    @Test func `an account of a viewer stays one while the broker does not publish it`() {
        var probes = RightsProbes(start)
        probes.begin(coach, of: login, .init(seen: [me], isViewer: true), start)
        #expect(probes.answered(coach, .init(seen: [me]), isEngineOnline: true, start + 1)?.isViewer == true)
    }
}
