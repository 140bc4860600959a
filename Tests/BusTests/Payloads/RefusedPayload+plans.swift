import Workouts

/// Invalid planned workouts, and invalid actions on plans.
extension RefusedPayload {
    private static func definition(_ fields: String, blames: String, isReported: Bool = true) -> RefusedPayload {
        start("\"definition\":{\(fields)}", blames: "definition.\(blames)", isReported: isReported)
    }

    private static func timer(_ fields: String, blames: String) -> RefusedPayload {
        definition(
            #""sections":[{"items":[{"name":"Row"}]},{"timer":{\#(fields)},"items":[{"name":"Row"}]}]"#,
            blames: "sections[1].timer.\(blames)")
    }

    private static func item(_ fields: String, blames: String, isReported: Bool = true) -> RefusedPayload {
        definition(
            #""sections":[{"items":[{"name":"Row","sets":[{}]},{\#(fields)}]}]"#,
            blames: "sections[0].items[1].\(blames)",
            isReported: isReported)
    }

    private static func set(_ fields: String, blames: String) -> RefusedPayload {
        item(#""name":"Squat","sets":[{},{},{\#(fields)}]"#, blames: "sets[2].\(blames)")
    }

    private static func repeated(_ text: String, _ count: Int) -> String {
        Array(repeating: text, count: count).joined(separator: ",")
    }

    static let definitions = [
        definition(#""focus":"running""#, blames: "focus: "),
        definition(#""focus":["running",7]"#, blames: "focus[1]: "),
        definition(#""equipment":[""],"sections":[{"items":[{"name":"a"}]}]"#, blames: "equipment[0]: 1 to 100 bytes"),
        definition(#""timer":"emom""#, blames: "timer: "),
        definition(#""timer":{"type":"emom"},"sections":[]"#, blames: "timer.rounds: missing for emom"),
        definition("", blames: "sections: missing"),
        definition(#""sections":[]"#, blames: "sections: 1 to \(PlanLimits.sections)"),
        definition(#""sections":[{}]"#, blames: "sections[0].items: missing"),
        definition(#""sections":[{"items":[]}]"#, blames: "sections[0].items: 1 to \(PlanLimits.items)"),
        definition(#""name":"","sections":[{"items":[{"name":"a"}]}]"#, blames: "name: 1 to 100 bytes"),
        definition(
            #""name":"a\u0000b","sections":[{"items":[{"name":"a"}]}]"#, blames: "name: control characters",
            isReported: false),
        definition(
            "\"sections\":[\(repeated("{\"items\":[{\"name\":\"a\"}]}", PlanLimits.sections + 1))]",
            blames: "sections: 1 to"),
        definition(
            "\"sections\":[\(repeated("{\"items\":[\(repeated("{\"name\":\"a\"}", PlanLimits.items))]}", 2))]",
            blames: "sections: more than \(PlanLimits.items) items", isReported: false),
        timer(#""type":"tabata""#, blames: "type: "),
        timer(#""work":60"#, blames: "type: missing"),
        timer(#""type":"countdown""#, blames: "work: missing for countdown"),
        timer(#""type":"interval","rounds":8"#, blames: "work: missing for interval"),
        timer(#""type":"interval","work":20"#, blames: "rounds: missing for interval"),
        timer(#""type":"amrap""#, blames: "cap: missing for amrap"),
        timer(#""type":"stopwatch","rounds":3"#, blames: "rounds: not for stopwatch"),
        timer(#""type":"emom","rounds":3,"rest":10"#, blames: "rest: not for emom"),
        timer(#""type":"amrap","cap":600,"rounds":3"#, blames: "rounds: not for amrap"),
        timer(#""type":"forTime","work":10"#, blames: "work: not for forTime"),
        timer(#""type":"countdown","work":0.5"#, blames: "work: 1 to 36000 s"),
        timer(#""type":"interval","work":20,"rest":3601,"rounds":8"#, blames: "rest: 0 to 3600 s"),
        timer(#""type":"emom","rounds":201"#, blames: "rounds: 1 to \(PlanLimits.rounds)"),
        timer(#""type":"emom","rounds":2.5"#, blames: "rounds: not a whole number"),
        timer(#""type":"amrap","cap":-1"#, blames: "cap: 1 to 36000 s"),
        timer(#""type":"amrap","cap":1e999"#, blames: "cap: "),
        item(#""sets":[{}]"#, blames: "name: missing"),
        item("\"name\":\"\(String(repeating: "x", count: 101))\"", blames: "name: 1 to 100 bytes"),
        item(#""name":"Row","id":"""#, blames: "id: 1 to 64 bytes"),
        item(#""name":"Row","id":"1-1""#, blames: "id: another item has the id 1-1", isReported: false),
        item(#""name":"Row","exercise":"yoga""#, blames: "exercise: "),
        item(#""name":"Row","sets":[]"#, blames: "sets: 1 to \(PlanLimits.setsOfExercise)"),
        item(
            "\"name\":\"Row\",\"sets\":[\(repeated("{}", PlanLimits.setsOfExercise + 1))]", blames: "sets: 1 to "),
        item(
            #""name":"Row","alternatives":[{"name":"Bike"},{"name":"Row"}]"#,
            blames: "alternatives[1].name: duplicate", isReported: false),
        item(
            #""name":"Row","alternatives":[{"name":"Bike","sets":[{"rest":-1}]}]"#,
            blames: "alternatives[0].sets[0].rest: 0 to 3600 s"),
        item(
            "\"name\":\"Row\",\"alternatives\":[\(repeated("{\"name\":\"Bike\"}", PlanLimits.alternatives + 1))]",
            blames: "alternatives: at most \(PlanLimits.alternatives)"),
        set(#""weight":1000.5"#, blames: "weight: 0 to 1000 kg"),
        set(#""weight":-1"#, blames: "weight: 0 to 1000 kg"),
        set(#""weight":"80""#, blames: "weight: "),
        set(#""weight":1e999"#, blames: "weight: "),
        set(#""repetitions":0"#, blames: "repetitions: 1 to 1000"),
        set(#""repetitions":8.5"#, blames: "repetitions: not a whole number"),
        set(#""repetitions":1e999"#, blames: "repetitions: out of range"),
        set(#""time":0"#, blames: "time: 1 to 36000 s"),
        set(#""rest":[]"#, blames: "rest: "),
        definition(
            #""timer":{"type":"emom","rounds":5},"sections":[{"items":[{"name":"Row","sets":[{},{}]}]}]"#,
            blames: "sections[0].items[0].sets: at most one", isReported: false),
        definition(
            #""timer":{"type":"emom","rounds":1},"sections":[{"items":[{"name":"Row"},{"name":"Bike"}]}]"#,
            blames: "sections[0].items: at most 1, one a round", isReported: false),
        definition(
            #""timer":{"type":"forTime","rounds":200},"sections":[{"items":[{"name":"Row","sets":[{},{}]}]}]"#,
            blames: "sections: more than \(PlanLimits.sets) sets in all rounds", isReported: false),
    ]

    private static func command(_ fields: String, blames: String) -> RefusedPayload {
        RefusedPayload("command", fields, blames: blames)
    }

    static let planActions = [
        command(#""type":"completeSet","item":7"#, blames: "item: "),
        command(#""type":"completeSet","set":0.5"#, blames: "set: not a whole number"),
        command(#""type":"completeSet","round":"first""#, blames: "round: "),
        command(#""type":"completeSet","repetitions":1e999"#, blames: "repetitions: out of range"),
        command(#""type":"completeSet","weight":"heavy""#, blames: "weight: "),
        command(#""type":"completeSet","time":1e999"#, blames: "time: out of range"),
        command(#""type":"uncompleteSet","set":[]"#, blames: "set: "),
        command(#""type":"skipExercise","item":["1-1"]"#, blames: "item: "),
        command(#""type":"swapExercise","alternative":1"#, blames: "alternative: "),
        command(#""type":"adjustDifficulty""#, blames: "difficulty: missing"),
        command(#""type":"adjustDifficulty","difficulty":"hell""#, blames: "difficulty: "),
        command(#""type":"goTo""#, blames: "item: missing"),
        command(#""type":"setPresentationMode""#, blames: "presentationMode: missing"),
        command(#""type":"setPresentationMode","presentationMode":"carousel""#, blames: "presentationMode: "),
    ]
}
