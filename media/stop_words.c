/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The words, as they are written, by their language. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/buf.h"
#include "core/fold.h"
#include "media/stop_words.h"

static const struct { const char *tag, *words; } lists[] = {
	{ "en",
	    "a about above actually after again against all almost alone along already also although always am an and another any anybody "
	    "anyone anything anyway anywhere are aren't around as ask at away back be became because become been before began begin behind "
	    "being below best better between big bit both bring but by came can can't cannot certain certainly clearly come comes coming could "
	    "couldn't course did didn't different do does doesn't doing done don't down during each early either else end enough especially "
	    "even ever every everybody everyone everything everywhere example fact far few find first five follow for four from further gave "
	    "general get gets getting give given gives go goes going gone good got gotten great had hadn't happen has hasn't have haven't "
	    "having he he's her here hers herself him himself his how however i i'd i'll i'm i've if important in indeed inside instead "
	    "interesting into is isn't it it's its itself just keep kind knew know known last later least left less let let's like likely "
	    "little long look looking lot lots made make makes making many may maybe me mean means might mine more most mostly much must my "
	    "myself near necessary need needs never new next nine no nobody none nor not nothing now nowhere of off often oh ok okay old on "
	    "once one ones only onto or other others our ours ourselves out over own part perhaps please point possible probably put quite "
	    "rather really right said same saw say says second see seem seemed seems seen several shall she should shouldn't show since six "
	    "small so some somebody someone something sometimes somewhere soon sort still stuff such sure take taken takes talk tell ten than "
	    "thank thanks that that's the their theirs them themselves then there there's therefore these they they're they've thing things "
	    "think third this those though thought three through thus time times to today together tomorrow too took toward towards tried try "
	    "trying turn two uh um under until up upon us use used uses using usually very want wanted wants was wasn't way ways we we'd we'll "
	    "we're we've well went were weren't what what's whatever when where whether which while who whole whom whose why will with within "
	    "without won't word words would wouldn't yeah year years yes yesterday yet you you'd you'll you're you've your yours yourself" },
	{ "de",
	    "ab aber alle allem allen aller alles als also am an andere anderem anderen anderer anderes auch auf aus außer bei beide beiden "
	    "beim beispiel bereits besonders besser bestimmt bin bis bisschen bist bitte bleiben bleibt bzw da dabei dadurch dafür dagegen "
	    "daher dahin damals damit danach dann daran darauf daraus darf darin darüber darum das dass davon davor dazu dein deine deinem "
	    "deinen deiner dem den denen denn dennoch der deren des deshalb dessen dich die dies diese dieselbe diesem diesen dieser dieses dir "
	    "doch dort drei du durch dürfen eben ebenfalls eigentlich ein eine einem einen einer eines einfach einige einigen einmal erst erste "
	    "ersten es etwa etwas euch euer eure fall fast finden für ganz ganze ganzen gar geben gegeben gegen gehen geht gemacht genau gerade "
	    "gern gesagt gewesen gibt ging gleich gut gute guten hab habe haben hat hatte hatten hätte hätten heute hier hin hinter ich ihm ihn "
	    "ihnen ihr ihre ihrem ihren ihrer ihres im immer in indem ins insbesondere irgendwie irgendwo ist ja jede jedem jeden jeder jedes "
	    "jedoch jemand jetzt kann kannst kaum kein keine keinem keinen keiner klar kleine kleinen kommen kommt konnte konnten können könnte "
	    "könnten lang lange lassen lässt leider letzte letzten machen macht mal man manche manchmal mehr mein meine meinem meinen meiner "
	    "meist mich mir mit möchte möchten möglich muss müssen musste müsste nach nachdem natürlich neben nehmen nein neu neue neuen nicht "
	    "nichts nie niemand noch nun nur ob oben oder oft ohne paar quasi recht relativ richtig sache sachen sagen sagt schon sehen sehr "
	    "sei seid sein seine seinem seinen seiner seit selbst sich sicher sie sieht sind so sobald sodass sogar solche solchen soll sollen "
	    "sollte sollten sondern sonst sowie sowohl später stehen steht stellen stellt tun tut über überhaupt um und uns unser unsere "
	    "unserem unseren unserer unter viel viele vielen vielleicht vier völlig vom von vor wann war wäre wären waren warum was weg wegen "
	    "weil weiter weitere weiteren welche welchem welchen welcher wenig weniger wenn wer werde werden wichtig wie wieder will wir wird "
	    "wirklich wissen wo wobei wollen wollte worden wurde wurden würde würden zeigen zeigt zeit ziemlich zu zum zunächst zur zwar zwei "
	    "zwischen" },
	{ "fr",
	    "à ai aie ainsi alors après assez au aucun aucune aujourd'hui auquel aussi autre autres aux avaient avais avait avant avec avez "
	    "avoir avons beaucoup bien bon bonne c'est car ce ceci cela celle celles celui cependant ces cet cette ceux chaque chez chose "
	    "choses comme comment contre d'abord d'accord d'un d'une dans de déjà depuis des deux devant doit donc dont du elle elles en encore "
	    "enfin entre est et étaient était étant été être eu eux faire fait faut fois font ici il ils j'ai jamais je jusqu'à l'on la là "
	    "laquelle le lequel les lesquels leur leurs lors lui ma maintenant mais me même mêmes mes mettre moi moins mon n'est ne ni non nos "
	    "notre nous nouveau nouvelle on ont ou où oui par parce parfois pas pendant peu peut peut-être peuvent plus plusieurs plutôt point "
	    "pour pourquoi premier première prendre près presque puis qu'il qu'elle qu'on qu'un qu'une quand que quel quelle quelles quels "
	    "quelque quelques qui quoi rien s'est sa sans se sera ses si sinon soit son sont sous souvent suis sur ta te tel telle tellement "
	    "tes toi ton toujours tous tout toute toutes très trop trois tu un une va vais vers veut voici voilà voir vos votre vous vraiment "
	    "vu y" },
	{ "es",
	    "a al algo alguien algún alguna algunas alguno algunos allí además ahora ante antes aquel aquella aquellos aquí así aún aunque bajo "
	    "bien bueno cada casi como cómo con contra cosa cosas cual cuales cualquier cuando cuándo cuanto de debe decir del desde después "
	    "día donde dónde dos durante e ejemplo el él ella ellas ellos en entonces entre era eran eres es esa esas ese eso esos está estaba "
	    "estado están estar estas este esto estos estoy fue fueron gran ha había hace hacen hacer hacia han hasta hay he hecho hemos hoy "
	    "incluso ir la las le les lo los luego mas más me mejor menos mi mis mismo misma mucho mucha muchas muchos muy nada nadie ni ningún "
	    "ninguna no nos nosotros nuestra nuestras nuestro nuestros nueva nuevo nunca o os otra otras otro otros para parece parte pero poco "
	    "pocos podemos por porque primera primero pues puede pueden que qué quien quién quiere se sea según ser será si sí sido siempre "
	    "siendo sin sino sobre sólo solo somos son soy su sus tal también tampoco tan tanto te tenemos tener tengo tenía ti tiene tienen "
	    "toda todas todavía todo todos tres tu tú tus un una unas uno unos usted ustedes va vamos van veces ver vez vosotros y ya yo" },
	{ "it",
	    "a abbiamo ad adesso ai al alcuni alcune alla alle allo allora altra altre altri altro anche ancora anzi appena assai avere aveva "
	    "avevano avete bene c'è che chi ci ciò cioè coi col come con contro cosa cose così cui da dagli dai dal dalla dalle dallo davvero "
	    "degli dei del dell della delle dello dentro di dice dire dobbiamo dopo dove due dunque durante e è ecco ed era erano essere "
	    "esempio fa fare fatto fino forse fra gli già ha hai hanno ho i il in infatti insieme invece io l la là le lei li lì lo loro lui ma "
	    "mai me meglio meno mentre mi mia mie miei mio molta molte molti molto ne negli nei nel nella nelle nello nessuno niente no noi non "
	    "nostra nostre nostri nostro nulla o oggi ogni ognuno oppure ora per perché però più poco poi possiamo possono prima primo proprio "
	    "può qua qualche qualcosa qualcuno quale quali quando quanto quasi quella quelle quelli quello questa queste questi questo qui "
	    "quindi sarà se sei sempre senza si sì sia siamo siete solo sono sopra sotto sta stata state stati stato stesso su sua sue sugli "
	    "sui sul sulla sulle suo suoi tanto te ti tra tre troppo tu tutta tutte tutti tutto un una uno va vi viene voi volta vostro" },
	{ "nl",
	    "aan af al alle alleen alles als altijd ander andere anders beetje ben bent bij bijna bijvoorbeeld binnen boven buiten daar daarna "
	    "daarom dan dat de deel denk der deze die dingen dit doe doen door doet drie dus dezelfde echt een eerst eerste eigenlijk elk elke "
	    "en enkele er ergens even ga gaan gaat geen geweest goed goede graag had hadden heb hebben heeft heel helemaal hem hen het hier hij "
	    "hoe hun iedereen iets ik in is ja je jij jou jouw jullie kan kijken klein komen komt kon kun kunnen laat laatste laten later maar "
	    "maken maakt mag me mee meer mensen met mij mijn misschien moet moeten mogen na naar natuurlijk nee net niet niets niks nieuwe nog "
	    "nooit nou nu of om omdat onder ons onze ook op over precies soms staan staat steeds te tegen ten ter terug toch toen tot tussen "
	    "twee u uit uw vaak van vanaf veel verder vind vinden vier volgende voor vooral waar waarom wanneer want waren was wat we weer weet "
	    "wel welke werd werden weten wie wij wil willen worden wordt zal ze zeer zeg zeggen zegt zei zelf zeker zich zie zien ziet zij zijn "
	    "zo zoals zodat zonder zou zouden zullen" },
	{ "pt",
	    "a à agora ainda algo alguém algum alguma algumas alguns além ali antes ao aos apenas aquela aquele aqueles aqui aquilo as às assim "
	    "até bem boa bom cada coisa coisas com como contra cada da daquele das de dela delas dele deles depois desde dessa desse desta "
	    "deste deve dia disse disso dizer do dois dos durante e é ela elas ele eles em enquanto então entre era eram essa essas esse esses "
	    "esta está estamos estão estar estas estava este estes eu exemplo fazer faz fez fica foi for foram gente grande há isso isto já la "
	    "lá lhe lhes lo mais mas me meio melhor menos mesma mesmo meu meus minha minhas muita muitas muito muitos na nada não nas nem "
	    "nenhum nenhuma nessa nesse nesta neste no nos nós nossa nossas nosso nossos nova novo num numa nunca o onde os ou outra outras "
	    "outro outros para parte pela pelas pelo pelos pode podem pois por porque porém pouco pra primeira primeiro qual quais qualquer "
	    "quando quanto quase que quem quer se sem sempre sendo ser será seu seus si sido sim só sobre sua suas são também tanto tão te tem "
	    "têm temos tenha tenho ter teve tinha toda todas todo todos três tu tudo um uma umas uns vai vamos vão vez vezes você vocês vos" },
	{ "sv",
	    "alla allt alltid allting alltså andra annan annat att av bara behöver bli blir blev bra både bör de dem den denna deras dess dessa "
	    "det detta dig din ditt dock du där därför då efter eftersom eller en er ett exempel fanns fick finns fler flera fram från få får "
	    "för före första ganska genom ger ger gick gjorde gå går gör göra ha hade han hans har hela helt hennes hit hon honom hur här i "
	    "ibland in inga ingen inget inte ja jag jo ju kan kanske kom komma kommer kunde lika lite liten man med mellan men mer mest mig min "
	    "mina mitt mot mycket måste många ned nej ner ni nog nu ny nya något några när nästa och också om oss på redan samma sedan ser sig "
	    "sin sina sitt ska skall skulle som stor stora står så säga säger sådan såg sätt ta tar till tre tror två under upp ut utan vad var "
	    "vara varför varit vara varje vem vet vi vid vilka vilken vilket vill väl vår våra vårt än ändå är även åt över" },
	{ "da",
	    "ad af aldrig alle allerede alligevel alt altid altså anden andet andre at bare begge blev blive bliver brug både da de dem den "
	    "denne der deres derfor det dette dig din dine disse dog du efter ej eller en end endnu er et fik fin findes flere for fordi fra "
	    "frem få får før først gennem gik gjorde god godt gør gøre går ham han hans har havde have hele heller helt hende hendes her hvad "
	    "hvem hver hvilken hvilke hvis hvor hvordan hvorfor i ikke ind ingen intet ja jeg jer jo kan kom komme kommer kun kunne lidt lige "
	    "man mange med meget mellem men mens mere mest mig min mine mit mod må måske nej ned nogen noget nogle nok nu nye når og også om op "
	    "os over på samme se selv ser ses siden sig sige siger sin sine sit skal skulle som stadig stor store så sådan tage til to tre tror "
	    "ud uden under var ved vi vil ville vores være været" },
	{ "nb",
	    "alle allerede alltid alt andre annen annet at av bare begge ble bli blir bra bruke både da de dem den denne der deres derfor det "
	    "dette deg din disse du eller en enn er et etter fikk finnes flere for fordi fra fram få får før først gang gjennom gikk gjorde "
	    "gjør gjøre god godt går ha hadde ham han hans har hele helt henne hennes her hun hva hvem hver hvilken hvis hvor hvordan hvorfor i "
	    "ikke ingen inn ja jeg jo kan kanskje kom komme kommer kun kunne litt man mange med meg meget mellom men mens mer mest mot mye må "
	    "måtte min mitt nei ned noe noen nok nå når ny nye og også om opp oss over på samme se seg selv ser si siden sier sin sitt skal "
	    "skulle slik som stor store så ta tar til to tre tror under ut uten var ved vi vil ville vår være vært" },
	{ "pl",
	    "a aby albo ale ani aż bardzo bez bo bowiem by być był była było były będzie będą bym chce choć ci co coś czego czy czyli często "
	    "dla dlaczego dlatego do dobrze dwa dzięki gdy gdyby gdzie go i ich ile im inne inny innych iż ja jak jaka jaki jakie jako je jeden "
	    "jedna jednak jednym jego jej jest jestem jesteśmy jeszcze jeśli jeżeli już każdy kiedy kilka kto która które którego której który "
	    "których którym którzy lub ma mają mam mamy mi mieć między mnie można może mogą moje mój mu musi my na nad nam nami nas nasz nasze "
	    "nawet nic nich nie niego niej nigdy nim niż no o od on ona one oni oraz po pod ponad ponieważ potem poza prawie przed przede przez "
	    "przy raz się są sobie swoje ta tak taka taki takie także tam te tego tej ten też to tu tutaj twój ty tych tylko tym u w wam was we "
	    "więc wszystko wszystkie właśnie wtedy z za zawsze ze że żeby" },
	{ "ru",
	    "а без более больше бы был была были было быть в вам вас ведь весь во вообще вот все всегда всего всех всё вы где говорит да даже "
	    "для до другой другие его ее если есть ещё еще же за здесь и из или им иногда их к каждый как какая какие какой когда конечно "
	    "которая которого которое которой которые который которых кто куда ли лучше между меня мне много может можно мой мы на над надо наш "
	    "не него нее ней нельзя нет ни нибудь никогда ним них ничего но ну о об один однако он она они оно от очень перед по под после "
	    "потом потому почему почти при про просто раз сам свою своей свои себе себя сейчас со совсем так такая такие такой там тебя тем "
	    "теперь то тогда того тоже той только том тот три тут ты у уже хорошо хоть чего чем через что чтобы чуть эта эти это этого этой "
	    "этом этот эту я" },
	{ "tr",
	    "acaba ama ancak artık aslında az bana bazı belki ben benim bile bir biraz birçok biri birkaç birşey biz bizim bu buna bunda bundan "
	    "bunu bunun burada böyle çok çünkü da daha de değil demek diğer diye dolayı en evet fakat falan gibi göre hangi hatta hem hep hepsi "
	    "her hiç için iki ile ilgili ise işte kadar karşı kendi ki kim mı mi mu mü nasıl ne neden nedir nerede niye o olan olarak oldu "
	    "olduğu olduğunu olmak olsa olur ona onlar onu onun orada oysa öyle pek rağmen sadece sanki sen senin siz sizin son sonra şey şimdi "
	    "şu tabi tabii tüm var ve veya ya yani yapmak yine yok zaten" },
};
enum { LANGUAGES = sizeof(lists) / sizeof(lists[0]) };

struct stop_words { struct { const char **at; size_t n; } of[LANGUAGES]; };

static int
by_word(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Words are folded one by one: "aujourd'hui" is one. */
static void
read_list(struct arena *mem, struct stop_words *s, int place)
{
	const char *p = lists[place].words;
	size_t n, i, k;

	s->of[place].at = arena_array(mem, strlen(p) / 2 + 1, sizeof(const char *));
	for (; *p != '\0'; p += *p == ' ') {
		const char *word = arena_copy_n(mem, p, strcspn(p, " "));
		const struct folded *f = fold_words(mem, word, &n);
		struct buf all = BUF(mem);

		for (i = 0; i < n; i++)
			buf_text(&all, f[i].word);
		if (all.len > 0)
			s->of[place].at[s->of[place].n++] = buf_string(&all);
		p += strcspn(p, " ");
	}
	k = s->of[place].n;
	qsort(s->of[place].at, k, sizeof(const char *), by_word);
}

struct stop_words *
stop_words_new(struct arena *mem)
{
	struct stop_words *s = NEW(mem, struct stop_words);
	int i;

	for (i = 0; i < LANGUAGES; i++)
		read_list(mem, s, i);
	return s;
}

int
stop_words_of(const char *tag)
{
	const size_t n = tag == NULL ? 0 : strcspn(tag, "-_");
	int i;

	for (i = 0; i < LANGUAGES; i++)
		if (n == strlen(lists[i].tag) && strncasecmp(tag, lists[i].tag, n) == 0)
			return i;
	return n == 2 && strncasecmp(tag, "no", 2) == 0 ? stop_words_of("nb") : -1;
}

const char *
stop_words_language(int place)
{
	return place >= 0 && place < LANGUAGES ? lists[place].tag : NULL;
}

bool
stop_words_has(const struct stop_words *s, int place, const char *folded)
{
	return place >= 0 && bsearch(&folded, s->of[place].at, s->of[place].n, sizeof(const char *), by_word) != NULL;
}
